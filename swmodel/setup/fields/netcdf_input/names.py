"""Names that programs give to fields in files, and the rule by which a variable is found (`docs/input.md`)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .dataset import CFDataset, is_numeric

#: Standard names that carry no information.
UNKNOWN_NAMES = ("", "unknown", "none")

#: Names in files besides those of the keys of [input], in lower case: ERA5, GFS, ICON, CMIP, Copernicus, NEMO, ROMS.
COMMON_NAMES = {
    "depth": ("deptho", "bathymetry", "bathy", "model_bathy", "h"),
    "mask": ("tmask", "mask_rho", "wet"),
    "wind_x": ("tauu", "taux", "tauuo", "avg_iews", "sustr"),
    "wind_y": ("tauv", "tauy", "tauvo", "avg_inss", "svstr"),
    "u10": ("uas", "u10m", "u_10m", "10u", "ugrd10m", "ugrd_10maboveground", "uwnd"),
    "v10": ("vas", "v10m", "v_10m", "10v", "vgrd10m", "vgrd_10maboveground", "vwnd"),
    "air_pressure": (
        *("msl", "psl", "mslp", "slp", "pmsl", "prmsl", "prmslmsl"),
        *("prmsl_meansealevel", "mslet_meansealevel"),
    ),
    "rain": ("pr", "mtpr", "avg_tprate", "prate", "tprate", "precipitation"),
    "evaporation": ("evspsbl",),
    "eta": ("zos", "ssh", "sossheig", "zeta", "adt"),
    "u": ("uo", "vozocrtx", "ssu", "water_u"),
    "v": ("vo", "vomecrty", "ssv", "water_v"),
}

#: Standard names of fields as masses of water, by that of the thickness.
MASS_STANDARD_NAMES = {
    "lwe_precipitation_rate": "precipitation_flux",
    "lwe_water_evaporation_rate": "water_evapotranspiration_flux",
}

#: Standard names of heights, positive upward.
HEIGHT_STANDARD_NAMES = (
    "surface_altitude", "bedrock_altitude", "altitude", "ground_level_altitude", "height_above_mean_sea_level",
    "height_above_geopotential_datum", "height",
)  # fmt: skip

#: The name that GDAL gives to a raster that it converts.
GDAL_BAND_PATTERN = re.compile(r"band_?1", re.IGNORECASE)


def candidate_names(dataset: CFDataset, standard_names: Iterable[str], names: Iterable[str]) -> list[str]:
    """The variables that may hold a field, only one if the file is unambiguous.

    1. those with one of its standard names and two axes at least, because coordinates such as the height of a wind may
    have the same one, 2. those with one of its names in any case and without a standard name, 3. the only field of the
    file, if it is a band of GDAL, 4. others with one of its standard names.
    """
    variables, wanted, lower_names = dataset.data.variables, {*standard_names} - {""}, {name.lower() for name in names}
    standard = {str(name): str(one.attrs.get("standard_name", "")) for name, one in variables.items()}
    fields = [name for name in standard if variables[name].ndim > 1 and is_numeric(variables[name])]
    with_standard_name = [name for name in standard if standard[name] in wanted]
    matches = [name for name in with_standard_name if variables[name].ndim > 1]
    matches = matches or [name for name in fields if standard[name] in UNKNOWN_NAMES and name.lower() in lower_names]
    matches = matches or [name for name in fields if len(fields) == 1 and GDAL_BAND_PATTERN.fullmatch(name)]
    return matches or with_standard_name

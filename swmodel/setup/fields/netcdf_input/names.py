"""Names that programs give to fields in files, and the rule by which a variable is found (`docs/input.md`)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .dataset import CFDataset, is_numeric

#: Standard names that carry no information.
UNKNOWN_NAMES = ("", "unknown", "none")

#: Names of fields, besides the keys of [input], in files of ERA5, GFS, ICON, CMIP, Copernicus, NEMO and ROMS, in lower
#: case.
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

#: Standard names of fluxes of the mass of water, by the standard name of the same flux as a thickness per time.
MASS_STANDARD_NAMES = {
    "lwe_precipitation_rate": "precipitation_flux",
    "lwe_water_evaporation_rate": "water_evapotranspiration_flux",
}

#: Standard names of heights, positive upward.
HEIGHT_STANDARD_NAMES = (
    "surface_altitude", "bedrock_altitude", "altitude", "ground_level_altitude", "height_above_mean_sea_level",
    "height_above_geopotential_datum", "height",
)  # fmt: skip

#: The name that GDAL gives to the band of a raster.
GDAL_BAND_PATTERN = re.compile(r"band_?1", re.IGNORECASE)


def candidate_names(dataset: CFDataset, standard_names: Iterable[str], names: Iterable[str]) -> list[str]:
    """The variables that may hold a field, only one if the file is unambiguous.

    They are the first of these groups that is not empty: 1. variables with one of its standard names and at least two
    axes, because coordinates such as the height of a wind may have the same standard name, 2. variables without a
    standard name that have one of its names in upper or lower case, 3. the only field of the file, if it is a band of
    GDAL, 4. other variables with one of its standard names.
    """
    variables, wanted, lower_names = dataset.data.variables, {*standard_names} - {""}, {name.lower() for name in names}
    standard_name_of = {str(name): str(one.attrs.get("standard_name", "")) for name, one in variables.items()}
    fields = [name for name in standard_name_of if variables[name].ndim > 1 and is_numeric(variables[name])]
    with_standard_name = [name for name in standard_name_of if standard_name_of[name] in wanted]
    matches = [name for name in with_standard_name if variables[name].ndim > 1]
    matches = matches or [
        name for name in fields if standard_name_of[name] in UNKNOWN_NAMES and name.lower() in lower_names
    ]
    matches = matches or [name for name in fields if len(fields) == 1 and GDAL_BAND_PATTERN.fullmatch(name)]
    return matches or with_standard_name

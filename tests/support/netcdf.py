"""Write NetCDF files for tests in one call."""

import netCDF4
import numpy as np


def lon_lat_axes(lon, lat):
    """Longitudes and latitudes as variables for `write_netcdf`."""
    return {"lon": ("lon", lon, {"units": "degrees_east"}), "lat": ("lat", lat, {"units": "degrees_north"})}


def write_netcdf(path, variables):
    """Write {name: (dimensions, values, attributes)} into a file; returns its path as a text.

    `dimensions` are names separated by spaces; a dimension of size 0 is unlimited. Masked values are missing values.
    """
    with netCDF4.Dataset(path, "w") as data:
        for name, (dimensions, values, attributes) in variables.items():
            values, attributes = np.ma.asarray(values), dict(attributes)
            for dimension, size in zip(dimensions.split(), values.shape, strict=True):
                if dimension not in data.dimensions:
                    data.createDimension(dimension, size or None)
            fill = attributes.pop("_FillValue", netCDF4.default_fillvals.get(values.dtype.str[1:]))
            variable = data.createVariable(name, values.dtype, dimensions.split(), fill_value=fill)
            variable.setncatts(attributes)
            variable.set_auto_maskandscale(False)  # values of packed variables are already packed
            variable[...] = values.filled(fill)
    return str(path)

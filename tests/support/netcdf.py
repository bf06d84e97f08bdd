"""NetCDF files for tests, written in one call."""

import netCDF4
import numpy as np


def write_netcdf(path, variables):
    """Write {name: (dimensions, values, attributes)}, whose values give the sizes; the path as a text.

    Dimensions are a text of names; one without values is unlimited. Masked values are missing.
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
            variable.set_auto_maskandscale(False)  # packed values are given packed
            variable[...] = values.filled(fill)
    return str(path)

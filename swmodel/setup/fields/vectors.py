"""Components of vectors, rotated from the axes of their source to those of the grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ocean.coordinates import Frame, axis_angle_from, frame_of, has_lon_lat, has_rotated_axes
from ...ocean.table import CONTROL_VECTORS, location_of
from ...ocean.terms.boundary_data import CONSTITUENTS, TIDE_TRANSPORTS, has_source, part_names
from .field_sources import ConstantSource, FieldSource, InputError, source_of
from .rivers import rivers_of_field

if TYPE_CHECKING:
    from ...config.options.model import Config

#: The pair of components along x and y, by the name of either component.
VECTOR_COMPONENTS = {
    name: pair
    for pair in (
        *CONTROL_VECTORS.values(),
        ("u10", "v10"),
        ("boundary_transport_x", "boundary_transport_y"),
        ("boundary_current_x", "boundary_current_y"),
        *(
            pair
            for name in CONSTITUENTS
            for pair in zip(*(part_names(name, array) for array in TIDE_TRANSPORTS), strict=True)
        ),
    )
    for name in pair
}


@dataclass(frozen=True, eq=False)
class RotatedSource(FieldSource):
    """A component along an axis of the grid, of a vector whose sources may refer to another frame.

    Functions, and files on true longitudes and latitudes, have eastward and northward components. Tables have
    components along the axes of the model's grid, files on a rotated-pole or projected grid along the axes of their
    own grid. `source`, `other_source`: sources of this and the other component; a number other than zero refers to the
    axes of the model's grid and cannot be rotated.
    """

    config: Config
    name: str
    source: Any
    other_source: Any

    def read(self, rows, columns, record=0, location="", fill=None):
        grid, point_location = self.config.grid, location or location_of(self.name)
        frames = self.frames(record)

        def component(source: FieldSource) -> np.ndarray:
            return source.read(rows, columns, record, point_location, fill)

        if frames == {frame_of(grid)}:
            return component(self.source)
        pair = VECTOR_COMPONENTS[self.name]
        for source in (self.source, self.other_source):
            if isinstance(source, ConstantSource) and source.value != 0:
                raise InputError(
                    f"{pair[0]} and {pair[1]}: one is a field, but the other is the number {source.value:g} along an "
                    "axis of the grid; give both as fields"
                )
        if not self.can_rotate(frames, record):
            raise InputError(
                f"{pair[0]} and {pair[1]}: must be rotated to the {'axes' if grid.crs else 'pole'} of the grid; give "
                "both components at the same times, eastward and northward, or along the axes of one grid"
            )
        (frame,) = frames
        cosine, sine = axis_angle_from(grid, frame, point_location, rows, columns)
        component_here, other_component = component(self.source), component(self.other_source)
        return (
            cosine * component_here + sine * other_component
            if self.name == pair[0]
            else cosine * component_here - sine * other_component
        )

    def frames(self, record: int) -> set[Frame]:
        """The frames of both components; that of this component only, at a record, if it varies in time."""
        if self.source.varies_in_time:
            return {self.source.frame(record)}
        return {each.frame() for each in (self.source, self.other_source) if not isinstance(each, ConstantSource)}

    def can_rotate(self, frames: set[Frame], record: int) -> bool:
        """Whether both components refer to one frame and one time; of eastward and northward, one may be a number."""
        source, other_source = self.source, self.other_source
        if source.varies_in_time:
            has_same_frame = other_source.varies_in_time and {other_source.frame(record)} == frames
            return has_same_frame and other_source.date(record) == source.date(record)
        return len(frames) == 1 and (
            frames == {None} or not any(isinstance(each, ConstantSource) for each in (source, other_source))
        )


def has_field_source(config: Config, name: str) -> bool:
    """Whether a field has a source other than a number; with rotated axes, whether either component has one."""
    names = VECTOR_COMPONENTS[name] if name in VECTOR_COMPONENTS and has_rotated_axes(config.grid) else (name,)
    return any(has_source(config, each) for each in names) or bool(rivers_of_field(config, name))


def source_along_axes(config: Config, name: str, source: FieldSource | None = None) -> FieldSource:
    """The source of a field along the axes of the grid; `source`: its own source, if that is known."""
    source = source or source_of(config, name)
    if name not in VECTOR_COMPONENTS or not has_lon_lat(config.grid) or not has_field_source(config, name):
        return source
    first, second = VECTOR_COMPONENTS[name]
    return RotatedSource(config, name, source, source_of(config, second if name == first else first))

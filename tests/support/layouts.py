"""Make configurations for the ranks of a layout, or for the devices of one process."""


def with_layout(config, layout, sharded=False, **run):
    """A configuration for ranks in a layout (rows, columns) of blocks; with `sharded`, for devices of one process."""
    n_blocks = layout[0] * layout[1]
    run_options = {"layout": "{}x{}".format(*layout), "nproc": 1 if sharded else n_blocks}
    if sharded and n_blocks > 1:
        run_options |= {"transport": "sharded", "devices": n_blocks}
    return config.model_copy(update={"run": config.run.model_copy(update=run_options | run)})

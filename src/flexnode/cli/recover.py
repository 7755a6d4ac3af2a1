"""`aks-flex-node recover`: what runs at boot, before containerd and kubelet, after a crash."""

from __future__ import annotations

import click

from flexnode.cli.config import ConfigChoice, config_options
from flexnode.cli.operation import find_spec, finish, open_log, open_workplace, require_root
from flexnode.cli.output import emit, verb_options


@click.command()
@click.option("--now", is_flag=True, help="Bring it to its end, and wait for that: on a machine that runs.")
@config_options
@verb_options
def recover(now: bool, config: ConfigChoice, output: str) -> int:
    """Make the files of one generation whole after a power cut or a crash.

    The unit aks-flex-node-recover runs this at boot, and the agent does the rest once the machine runs. With
    --now all of it is done here.
    """
    from flexnode.flows.going_back import prepare_boot
    from flexnode.flows.going_back import recover as bring_to_end

    require_root("recover")
    spec = find_spec(config)
    with open_log("recover", spec):
        with open_workplace() as workplace:
            if not now:
                prepare_boot(workplace, spec=spec)
                emit(output, text="the machine's files are of one generation", data={"recovered": "files"})
                return 0
            outcome = bring_to_end(workplace, spec=spec)
        if outcome is None:
            emit(output, text="nothing was cut off", data={"recovered": None})
            return 0
        return finish(outcome, f"what was cut off has ended: {outcome.result}", output)

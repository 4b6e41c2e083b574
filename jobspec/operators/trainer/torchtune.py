"""The model of a TrainJob that fine-tunes with torchtune, from the runtime's name, and its method, from the arguments.

Follows `getModelFromRuntimeRef`, `isLoraConfigEnabled` and `isUseQLoraFinetune` of the plugin torch, github.com/kubeflow/trainer
pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


MANAGED = ("output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file")
"""Settings of folders, which the runtime has in the command of its container and hands over to the job's; the last one from 2.1 on."""


def model_of(runtime: str) -> str:
    """The model in a runtime's name: `llama3_2/1B` of `torchtune-llama3.2-1b`; empty for other names."""
    parts = runtime.split("-")
    return f"{parts[1].replace('.', '_')}/{parts[2].upper()}" if len(parts) == 3 else ""


def is_lora(arguments: Sequence[str]) -> bool:
    """Whether arguments ask for LoRA."""
    return any("model.lora_attn_modules" in argument for argument in arguments)


def is_qlora(arguments: Sequence[str], release: str) -> bool:
    """Whether arguments ask for QLoRA, which DoRA turns off."""
    return _asked(arguments, "model.quantize_base", release) and not _asked(arguments, "model.use_dora", release)


def _asked(arguments: Sequence[str], name: str, release: str) -> bool:
    """Whether an argument turns a setting on: until 2.2 by naming it, from 2.3 on by the value `true` in any case."""
    if not is_at_least(release, "2.3.0"):
        return any(name in argument for argument in arguments)
    parts = [argument.partition("=") for argument in arguments]
    return any(equals and name in before and value.strip().lower() == "true" for before, equals, value in parts)

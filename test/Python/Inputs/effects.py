"""Each flag of each family changes the model, or is refused by name: none does nothing."""
import inspect

from para import models

OTHERS = dict(layers=3, decoder_layers=1, hidden=32, heads=2, kv_heads=2, head_dim=8, ffn=100, vocab=99, seq=16, dec_seq=4, batch=3, positions=77, experts=4,
              top_k=1, capacity_factor=0.5, shared_experts=1, groups=2, theta=500.0, token_types=3, buckets=16, max_distance=64, image=16, patch=4, channels=1,
              classes=7, inputs=5, gelu=("erf", "tanh"), dtype=("float16",), pool=("mean", "attention"), activation=("relu", "gated-gelu"))
# Beside which others are tried, too.
BESIDE = {"gpt": [{}, {"experts": 2}], "llama": [{}, {"experts": 2}], "moe": [{}, {"gated": False}], "vit": [{}, {"parallel": True}]}


def make(family, **sizes):
    known = inspect.signature(models.FAMILIES[family]).parameters
    fixed = {name: value for name, value in dict(seq=8, dec_seq=8, batch=4).items() if name in known}
    return models.FAMILIES[family](**{**fixed, **sizes}).model(None).SerializeToString()


tried = refused = 0
for family, function in models.FAMILIES.items():
    for beside in BESIDE.get(family, [{}]):
        plain = make(family, **beside)
        for name, parameter in inspect.signature(function).parameters.items():
            if name in beside:
                continue
            values = (not parameter.default,) if isinstance(parameter.default, bool) else OTHERS[name] if isinstance(OTHERS[name], tuple) else (OTHERS[name],)
            for value in values:
                if value == parameter.default:
                    continue
                tried += 1
                try:
                    assert make(family, **beside, **{name: value}) != plain, f"{family} {beside}: {name}={value} does nothing"
                except models.SizeError as error:
                    refused += 1
                    assert "--" + name.replace("_", "-") in str(error), (family, beside, name, str(error))
print(f"{tried} flags, {refused} refused")
assert tried > 100 and refused < 12, (tried, refused)

"""`load_checks`, whose source stands in notebooks and is executed in kernels: it needs nothing but Python."""


def load_checks(packed):
    """Make a package of packed sources; returns the last of its modules."""
    import base64
    import json
    import sys
    import types
    import zlib

    # a module is registered before it is executed, so that relative imports find it
    def module(name, source):
        made = types.ModuleType(name)
        made.__package__, made.__path__ = "attention_checks", []
        sys.modules[name] = made
        exec(compile(source, name.replace(".", "/") + ".py", "exec"), made.__dict__)
        return made

    sources = json.loads(zlib.decompress(base64.b85decode(packed)))
    module("attention_checks", "")
    return [module("attention_checks." + name, source) for name, source in sources.items()][-1]

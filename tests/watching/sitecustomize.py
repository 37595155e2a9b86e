"""Python imports this as it starts in a process that a test begins: such a process is watched as well."""

import suite_watch  # type: ignore[import-not-found]

suite_watch.continue_watching()

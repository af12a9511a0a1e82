# SPDX-License-Identifier: MIT OR Apache-2.0
"""The description of a run, from files, options and short forms.

`description` has all settings and checks them (`Spec`), `options` are those with an option of their own, `settings`
merges files and options, `windows` reads time windows, `packets` which packets are recorded. Uses the rooms that
describe the parts of a run: `catalog`, `devices`, `topology`, `traffic`. Never prepares anything.
"""

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab on a page, which a browser of this machine opens (docs/studio.md).

`guard` lets in only the browser that was given the token; `programs` are the schemes that a page can open; `runs` are
child processes, each a run of the command line (`marklab.cli.writing.spare` before it is wanted), and `looks` such that
run a cell again and answer questions about it; `again` sends packets once more, by `commands`, which are short child
processes. `form` has the settings of a run, and `history` the runs that are over. `lesson` reads the lessons in
`lessons/`, and `answers` compares what their runs have measured with a student's choice. `questions` are what a page
asks, `app` answers with these, and `serve` starts it. The page itself is TypeScript: `studio/` at the top of the source
tree, built into `page/` here.
"""

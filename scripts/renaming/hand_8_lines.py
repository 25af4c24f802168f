# --- lines that grew too long ---------------------------------------------------------------------
lit("author_command.py", "Return the suite parameters; nothing is compared here, so no encoder need be there unless asked for.", "Return the suite parameters; nothing is compared here, so no encoder is needed by default.")
sub("perturb_commands.py", r"(inputs, stages=[\s\S]*?report_note=_print_note,\n\s*\)[^\n]*?)  # fmt: skip", r"\1")
lit("progress_display.py", "Say why this run goes on or begins, what there is to make, what the environment lacks; then show.", "Say why this run continues or begins, what is to be made and what is missing; then show.")
lit("cassette.py", "the suite of the tasks, its seed and its suite parameters (`parameters`).", "the suite of the tasks, its seed and its parameters.")
lit("server_config.py", "Exactly one of `command`, `pinned_environment` (a pinned environment) and `url` is set.", "Exactly one of `command`, `pinned_environment` and `url` is set.")
lit("fault_labels.py", """    return f"{where} = {_format_value(fault.value)}, expected one of {_format_value(fault.accepted_values)}"
""", """    accepted_values = _format_value(fault.accepted_values)
    return f"{where} = {_format_value(fault.value)}, expected one of {accepted_values}"
""")
lit("transcript_style.py", "`letter_joiner` joins letters (\"\" means L I A M with spaces).", "`letter_joiner` joins letters (\"\": L I A M with spaces).")
lit("embedded_recordings.py", """        "description": f"{recording['description']}; not in this page but in the run folder{location}"
""", """        "description": (
            f"{recording['description']}; not in this page but in the run folder{location}"
        )
""")
lit("run_differences.py", """        yield f"the suite's parameters differ: {', '.join(key[len('parameter ') :] for key in parameters)}"
""", """        names = ", ".join(key.removeprefix("parameter ") for key in parameters)
        yield f"the suite's parameters differ: {names}"
""")
lit("step_structure.py", "Matched pairs: call (`truth`, `predicted`) and step (`truth_step`, `predicted_step`), from 0, and similarity.", "Matched pairs: indices of calls and of steps, from 0, and the pair's similarity.")
lit("m3_replay.py", "One call executed again: its outcome now, the old one in `recorded_outcome` if known, and their agreement.", "One call executed again: its outcome now, the recorded one if known, their agreement.")
lit("judge_questions.py", "Return the function that asks a judge; with `shows_pictures` the judge also gets the task's pictures.", "Return the function that asks a judge, who gets the task's pictures with `shows_pictures`.")
sub("recognition_tables.py", r'    note = f"\{rate_note\} An episode of several voices counts with each\.\{(\w+)\.marks_note\(columns\)\}"\n', r'''    marks_note = \1.marks_note(columns)
    note = f"{rate_note} An episode of several voices counts with each.{marks_note}"
''')
lit("text_recognition.py", "A line of lettering: `confidence` is the confidence in [0, 1], `box` is left, top, right, bottom.", "A line of lettering: `confidence` is in [0, 1], `box` is left, top, right, bottom.")
sub("robovqa.py", r"(missing_data_error\(split_folder\.path, 'robovqa'\)\}; )out of a snapshot: \"$", '\\1"\n            "out of a snapshot: "')
sub("console_output.py", r'^(\s+)controls = "control/oracle, control/null, control/faulty\?class=\.\.\., control/always-call, control/dead"$', r'''\1controls = ", ".join(
\1    f"control/{name}"
\1    for name in ("oracle", "null", "faulty?class=...", "always-call", "dead")
\1)''')
sub("accuracy_tables.py", r"Some symbols are distinguished by their colour \"\n(\s+)\"alone:", r'Some symbols differ by their colour "\n\1"alone:')
sub("tests/golden/cases/bfcl_damage.py", r'''    return f"\{damage\} \{_digest\(\[played\.tool_format, played\.ending, said\]\)\} \| \{verdict\} \| \{_digest\(why\)\}"''', '''    reply = _digest([played.tool_format, played.ending, said])
    return f"{damage} {reply} | {verdict} | {_digest(why)}"''')
sub("tests/cli/test_app.py", r'^(\s+)(\(\("run", "funcbench", "-m", "control/null", "(?:--extra-body", "\[1\]|--header", "sekrit|--tool-format", "nativ)"\),) ("[^"\n]*"\),)$', r"\1\2\n\1 \3")
sub("tests/cli/test_app.py", r'^(\s+)(\(\("run", "funcbench", "-m", "control/null", "-T", "core=x"\),) ("[^"\n]*"\),)$', r"\1\2\n\1 \3")

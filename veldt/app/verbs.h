// The verbs of the `veldt` command, one file each; cli/verb.h shows how to write one.
// Tests: tests/app/command_test.cpp
#pragma once

#include "veldt/app/frame.h"
#include "veldt/cli/verb.h"

namespace veldt::app {

const Program& program();

Run add_fit(VerbOptions& verb, Context& context);
Run add_render(VerbOptions& verb, Context& context);
Run add_pack(VerbOptions& verb, Context& context);
Run add_unpack(VerbOptions& verb, Context& context);
Run add_resize(VerbOptions& verb, Context& context);
Run add_compare(VerbOptions& verb, Context& context);
Run add_train(VerbOptions& verb, Context& context);
Run add_sweep(VerbOptions& verb, Context& context);
Run add_watch(VerbOptions& verb, Context& context);
Run add_report(VerbOptions& verb, Context& context);
Run add_quantize(VerbOptions& verb, Context& context);
Run add_eval(VerbOptions& verb, Context& context);
Run add_prune(VerbOptions& verb, Context& context);
Run add_predict(VerbOptions& verb, Context& context);
Run add_explain(VerbOptions& verb, Context& context);
Run add_play(VerbOptions& verb, Context& context);
Run add_import(VerbOptions& verb, Context& context);
Run add_run(VerbOptions& verb, Context& context);
Run add_export(VerbOptions& verb, Context& context);
Run add_info(VerbOptions& verb, Context& context);
Run add_csv(VerbOptions& verb, Context& context);
Run add_data(VerbOptions& verb, Context& context);
Run add_config(VerbOptions& verb, Context& context);
Run add_completion(VerbOptions& verb, Context& context);
Run add_doctor(VerbOptions& verb, Context& context);

}  // namespace veldt::app

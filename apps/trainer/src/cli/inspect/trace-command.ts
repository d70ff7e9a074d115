import { type Command, Option } from 'commander';
import type { ProgramOptions } from '../flags.ts';
import { showFormats } from './show-format.ts';
import type { TraceFlags } from './trace-agent.ts';

/** Adds `agl trace`. */
export function addTraceCommand(program: Command, options: ProgramOptions): void {
  program
    .command('trace')
    .description('Run an agent on one task and print its trace, without a store or server, with the agent’s own model.')
    .argument('<agent>', 'a module with the agent, as its default export or named agent; or a configuration file')
    .requiredOption('--task <json>', 'the task, as JSON')
    .addOption(new Option('--format <format>', 'format of the trace').choices(showFormats).default('tree'))
    .option('--output <file>', 'output file; - for standard output', '-')
    .option('--json', 'spans, reward, conversation and error as JSON')
    .addHelpText('after', helpText)
    .action(async (file: string, flags: TraceFlags) => {
      const { traceAgent } = await import('./trace-agent.ts');
      options.setExitCode(await traceAgent(file, flags));
    });
}

const helpText = `
The agent calls the model that it is configured with, such as the one of OPENAI_BASE_URL. To run it with the model of a
configuration, or with scripted answers, use agl dev.

Examples:
  agl trace ./agent.ts --task '{"question":"2 + 2?"}'
  agl trace ./agent.ts --task '"2 + 2?"' --format html --output trace.html

Exit codes: 0 the agent succeeded, 1 it failed, 2 invalid flag or module, 130 stopped by Ctrl+C.`;

import { type Command, InvalidArgumentError, Option } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { exitCodes } from '../exit-code.ts';
import { type ProgramOptions, storeHelp } from '../flags.ts';
import { examples } from '../store/store-file-commands.ts';
import type { ExportTracesFlags } from './export-traces.ts';

/** Adds `agl export traces`. */
export function addTracesCommand(group: Command, { setExitCode }: ProgramOptions): void {
  group
    .command('traces')
    .description('Send the traces of a run to another tool by OTLP, with the GenAI semantic conventions.')
    .argument('<run>', 'the run')
    .addOption(
      new Option('--to <tool>', 'the receiver; its address and keys are in the variables that the tool defines')
        .choices(['otlp', 'langfuse', 'phoenix', 'langsmith', 'mlflow'])
        .default('otlp'),
    )
    .option('--endpoint <url>', 'address of the receiver (default: by the environment)')
    .option('--header <name=value>', 'a header of every request; can be repeated', header)
    .addOption(
      new Option('--protocol <protocol>', 'OTLP encoding (default: by the environment)').choices([
        'http/protobuf',
        'http/json',
      ]),
    )
    .addOption(
      new Option('--mode <modes...>', 'only rollouts of these modes').choices(['train', 'val', 'test', 'production']),
    )
    .option('--rollout <ids...>', 'only these rollouts')
    .option('--follow', 'send rollouts as they finish, until the run has ended')
    .option('--no-content', 'leave out messages, and the inputs and outputs of tools and steps')
    .option('--tokens', 'include token ids, log-probabilities and raw bodies')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object, for programs')
    .addHelpText(
      'after',
      examples(
        'agl export traces run-1a2b3c4d --endpoint http://localhost:4318 --follow',
        'LANGFUSE_PUBLIC_KEY=pk-… LANGFUSE_SECRET_KEY=sk-… agl export traces run-1a2b3c4d --to langfuse',
      ),
    )
    .action(async (run: string, flags: ExportTracesFlags) => {
      const { exportTraces } = await import('./export-traces.ts');
      const { rejected } = await exportTraces(run, flags);
      if (rejected > 0) setExitCode(exitCodes.failed);
    });
}

/** Collects `name=value`. */
function header(text: string, others: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const split = text.indexOf('=');
  if (split < 1) throw new InvalidArgumentError(`"${text}" is not of the form name=value.`);
  return { ...others, [text.slice(0, split).trim().toLowerCase()]: text.slice(split + 1).trim() };
}

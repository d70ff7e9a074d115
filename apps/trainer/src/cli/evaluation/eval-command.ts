import type { Command } from 'commander';
import { type ProgramOptions, shareOf, wholeNumber } from '../flags.ts';
import type { EvalFlags } from './run-eval.ts';
import { addSubjectOptions } from './subject-options.ts';

/** Adds `agl eval`. */
export function addEvalCommand(program: Command, options: ProgramOptions): void {
  const command = program
    .command('eval')
    .description('Evaluate a checkpoint, the base model, prompts or an endpoint on tasks, or compare two of them.')
    .argument('[config]', 'the configuration file', 'agl.config.ts')
    .option('--against <subject>', 'compare with this, on the same tasks and sample indexes; as --of')
    .option('--tasks <file>', 'the tasks, as JSON lines (default: the test tasks of the configuration)')
    .option(
      '--samples <n>',
      'rollouts of each task (default: evaluation.rolloutsPerTask)',
      wholeNumber({ min: 1, max: 10_000 }),
    )
    .option('--agent-sampling', 'sample as the requests of the agent ask, instead of as the training does')
    .option('--concurrency <n>', 'number of concurrent rollouts', wholeNumber({ min: 1 }))
    .option('--max-missing <share>', 'share of missing rewards above which the exit code is 1', shareOf)
    .option('--no-runner', 'do not start agents; external runners run them');
  addSubjectOptions(command)
    .option('--json', 'one JSON object per line, for programs')
    .addHelpText('after', helpText)
    .action(async (file: string, flags: EvalFlags) => {
      const { runEval } = await import('./run-eval.ts');
      options.setExitCode(await runEval(file, flags));
    });
}

const helpText = `
Examples:
  agl eval --of run-1a2b@best --against base           has the training improved the agent?
  agl eval --of run-1a2b@40 --tasks hard.jsonl --samples 8
  agl eval --endpoint https://api.openai.com/v1 --model gpt-4.1-mini --key-env OPENAI_API_KEY
  agl eval --of search-1@v3 --against search-1@v0      versions of a prompt search

The evaluation is a run of the store: \`agl rollouts --run <run>\` lists its rollouts, \`agl show <rollout>\` shows one.

Exit codes: 0 evaluated, 1 too many rewards are missing, or every agent failed, 2 invalid flag, configuration or task, 3 store,
runtime or model unavailable, 130 stopped by Ctrl+C.`;

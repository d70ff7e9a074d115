import type { Command } from 'commander';
import { type ProgramOptions, wholeNumber } from '../flags.ts';
import type { DevFlags } from './run-dev.ts';
import { addSubjectOptions } from './subject-options.ts';

/** Adds `agl dev`. */
export function addDevCommand(program: Command, options: ProgramOptions): void {
  const command = program
    .command('dev')
    .description(
      'Run the agent on a few tasks without training; print traces and problems that would prevent training.',
    )
    .argument('[config]', 'the configuration file', 'agl.config.ts')
    .option('--tasks <n>', 'number of training tasks, from the first (default: 3)', wholeNumber({ min: 1, max: 1000 }))
    .option('--task <json>', 'one task, instead of those of the configuration')
    .option('--script <file>', 'a JSON list with the responses of a scripted model, in the order of the calls');
  addSubjectOptions(command)
    .option('--json', 'one JSON object per line, for programs')
    .addHelpText('after', helpText)
    .action(async (file: string, flags: DevFlags) => {
      const { runDev } = await import('./run-dev.ts');
      options.setExitCode(await runDev(file, flags));
    });
}

const helpText = `
Examples:
  agl dev                                         three rollouts with the configured model
  agl dev --task '{"question":"2 + 2?"}' --endpoint http://localhost:8000/v1 --model tiny
  agl dev --tasks 1 --script answers.json         answers.json: ["4", { "toolCalls": [{ "name": "add", "arguments": { "a": 2 } }] }]

Exit codes: 0 every rollout can be trained on, 1 a problem was found, 2 invalid flag, configuration or task, 3 store, runtime or model
unavailable, 130 stopped by Ctrl+C.`;

import type { Command } from 'commander';
import type { ProgramOptions } from '../flags.ts';
import type { DoctorFlags } from './run-doctor.ts';

/** Adds `agl doctor`. */
export function addDoctorCommand(program: Command, options: ProgramOptions): void {
  program
    .command('doctor')
    .description(
      'Check versions, configuration, store, runtime, model endpoint, token ids, ports and GPU; say what to do.',
    )
    .argument('[config]', 'the configuration file', 'agl.config.ts')
    .option('--endpoint <url>', 'check this OpenAI-compatible API, up to and with /v1, instead of the runtime')
    .option('--model <name>', 'the model of the endpoint')
    .option('--key-env <name>', 'the environment variable with the key of the endpoint')
    .option('--json', 'the findings as one JSON object')
    .addHelpText('after', helpText)
    .action(async (file: string, flags: DoctorFlags) => {
      const { runDoctor } = await import('./run-doctor.ts');
      options.setExitCode(await runDoctor(file, flags));
    });
}

const helpText = `
Examples:
  agl doctor                                                      the project in this folder
  agl doctor --endpoint http://localhost:8000/v1 --model tiny     can this server be trained against?

A check of an endpoint sends one short completion.

Exit codes: 0 no error was found, 1 an error was found, 2 invalid flag.`;

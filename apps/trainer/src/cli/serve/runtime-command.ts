import type { Command } from 'commander';
import { wholeNumber } from '../flags.ts';
import type { RuntimeFlags } from './run-runtime.ts';

/** Adds `agl runtime`. */
export function addRuntimeCommand(program: Command): void {
  program
    .command('runtime')
    .description('Serve the embedded CPU runtime over gRPC, for a trainer in another process.')
    .option('--dir <folder>', 'checkpoint folder', '.agl/checkpoints')
    .option('--port <n>', 'the gRPC port; 0 for any free one', wholeNumber({ min: 0, max: 65535 }), 4760)
    .option(
      '--inference-port <n>',
      'the port of the model API; 0 for any free one',
      wholeNumber({ min: 0, max: 65535 }),
      0,
    )
    .addHelpText(
      'after',
      '\nThe API key of both servers is AGL_RUNTIME_KEY; without it a random one is written to runtime.key in --dir (mode 0600).',
    )
    .action(async (flags: RuntimeFlags) => {
      const { runRuntime } = await import('./run-runtime.ts');
      await runRuntime(flags);
    });
}

import { startCpuRuntime } from '@agentlightning/runtime-cpu';
import type { Command } from 'commander';
import { wholeNumber } from './number-flag.ts';
import { serverLog } from './server-log.ts';
import { untilStopped } from './until-stopped.ts';

/** Adds `agl runtime`. */
export function addRuntimeCommand(program: Command): void {
  program
    .command('runtime')
    .description('Serve the embedded CPU runtime over gRPC, for a trainer in another process.')
    .option('--dir <folder>', 'where checkpoints lie', '.agl/checkpoints')
    .option('--port <n>', 'the gRPC port; 0 takes any free one', wholeNumber({ min: 0, max: 65535 }), 4760)
    .option(
      '--inference-port <n>',
      'the port of the model API; 0 takes any free one',
      wholeNumber({ min: 0, max: 65535 }),
      0,
    )
    .action(async (flags: { readonly dir: string; readonly port: number; readonly inferencePort: number }) => {
      const log = serverLog('agl-runtime');
      const runtime = await startCpuRuntime({
        checkpointDir: flags.dir,
        port: flags.port,
        inferencePort: flags.inferencePort,
      });
      log.info({ address: runtime.address, inference: runtime.inferenceUrl }, 'runtime is up');
      process.stdout.write(
        `${JSON.stringify({ event: 'ready', address: runtime.address, inference: runtime.inferenceUrl })}\n`,
      );
      await untilStopped(() => runtime.close());
      log.info('runtime has stopped');
    });
}

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { addressText, systemClock } from '@agentlightning/core/internal';
import { newId } from '@agentlightning/core/store';
import { loadConfig } from '../../config/load-config.ts';
import { isPromptSearch } from '../../config/resolve-run.ts';
import { shellQuote } from '../../report/text-formats.ts';
import { writeOutcome } from '../error-text.ts';
import { exitCodes } from '../exit-code.ts';
import { programName } from '../program-name.ts';
import { overridesFrom, type TrainingRequest } from './run-training.ts';

/** The time between two checks of the log, in milliseconds. */
const intervalMs = 100;

/**
 * Trains in a process in the background, which writes the events of the run and the output of agents to a file. Returns when
 * the run has started.
 *
 * @returns the exit code: that of the process, if it ends before the run has started
 */
export async function detachTraining({ file, flags, args }: TrainingRequest): Promise<number> {
  const config = await loadConfig(file, overridesFrom(flags));
  const { dataDir, storeUrl } = isPromptSearch(config) ? config.shared : config;
  const runId = flags.resume ?? flags.run ?? newId('run');
  const log = path.join(dataDir, 'logs', `${runId}.log`);
  mkdirSync(path.dirname(log), { recursive: true });
  const output = openSync(log, 'a');
  const startOfOutput = readFileSync(log).length;
  const others = args.filter((arg) => arg !== '--detach' && arg !== '--json');
  const id = flags.resume === undefined && flags.run === undefined ? ['--run', runId] : [];
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...others, ...id, '--json'], {
    stdio: ['ignore', output, output],
    detached: true,
  });
  closeSync(output);
  const written = (): string => readFileSync(log).subarray(startOfOutput).toString();
  const exitCode = await untilStarted(child, written);
  if (exitCode !== null) {
    process.stderr.write(`${written()}\nThe run has not started. Its log: ${log}\n`);
    return exitCode;
  }
  child.unref();
  const { pid = 0 } = child;
  const command = programName();
  const stop = `${command} stop ${runId} --store ${shellQuote(addressText(storeUrl))}`;
  const url = /^\{"type":"dashboard","url":"([^"]+)"\}$/m.exec(written())?.[1];
  const address = url === undefined ? '' : `\n  dashboard: ${url}`;
  const text = `Run ${runId} trains in the background (process ${pid}).${address}\n  log: ${log}\n  stop: ${stop}`;
  const record = { type: 'detached', runId, pid, log, ...(url === undefined ? {} : { dashboard: url }) };
  writeOutcome(flags, { record, text });
  return exitCodes.done;
}

/** Waits for the first event of a run. Returns the exit code of a process that has ended before; null otherwise. */
async function untilStarted(child: ChildProcess, written: () => string): Promise<number | null> {
  let failure: Error | null = null;
  child.once('error', (error) => {
    failure = error;
  });
  for (;;) {
    if (/^\{"type":"(started|nothing-left)"/m.test(written())) return null;
    if (failure !== null) throw failure;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? exitCodes.failed;
    await systemClock.sleep(intervalMs);
  }
}

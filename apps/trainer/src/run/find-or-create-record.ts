import { AgentLightningError, type JsonObject, type Run, type Store } from '@agentlightning/core';
import { newId } from '@agentlightning/core/store';
import { isRunId } from '../config/model-name.ts';
import { acquireRunLease, type RunLease } from './run-lease.ts';
import { assertSameShape, shapeKey } from './run-shape.ts';
import { writeState } from './run-state.ts';

/** The run to create or resume. */
export interface RunChoice {
  /** The id of a new run; null generates one. */
  readonly runId: string | null;
  /** The id of the run to resume; null creates a new run. */
  readonly resume: string | null;
  /** Called when a client requests the stop of the run. */
  readonly onStopRequest: () => void;
}

/** A run that this process holds the lease of, with its state. */
export interface Found<TState> {
  readonly run: Run;
  readonly state: TState;
  /** Whether the run is finished and complete. */
  readonly isOver: boolean;
  readonly lease: RunLease;
}

/** Storage of one kind of run. */
export interface RunRecord<TState extends object> {
  /** The display name. */
  readonly name: string;
  /** The settings that must not change when a run is resumed. */
  readonly shape: JsonObject;
  /** The configuration in its stored form. */
  readonly config: JsonObject;
  /** The initial state of a run. */
  readonly initial: TState;
  /**
   * Reads the state of a stored run.
   *
   * @throws AgentLightningError CONFIG for a run of another kind
   */
  read(run: Run): TState;
  /** The state at which a run is resumed; null when it is finished and complete. */
  resumedState(state: TState, status: Run['status']): TState | null;
}

/**
 * Creates a run, or finds the run to resume. A finished run with remaining work keeps its status and results until all
 * its dependencies are open: {@link reopenRun}.
 *
 * @throws AgentLightningError NOT_FOUND for an unknown run, CONFIG for an invalid id and for a configuration that the
 *   run cannot be resumed with, CONFLICT for an id that exists and for a run that another process holds the lease of
 */
export async function findOrCreateRecord<TState extends object>(
  store: Store,
  { runId, resume, onStopRequest }: RunChoice,
  record: RunRecord<TState>,
): Promise<Found<TState>> {
  const { name, shape, initial } = record;
  if (resume === null) {
    const id = checkRunId(runId ?? newId('run'));
    await createRun(store, { runId: id, name, config: { ...record.config, [shapeKey]: shape } });
    const lease = await acquireRunLease(store, id, { onStopRequest });
    return { run: await store.updateRun(id, { state: writeState(initial) }), state: initial, isOver: false, lease };
  }
  // A process that was killed while it created a run leaves an empty state.
  const read = (run: Run): TState => (Object.keys(run.state).length === 0 ? initial : record.read(run));
  const before = await store.getRun(resume);
  read(before);
  assertSameShape(before, shape);
  const lease = await acquireRunLease(store, resume, { onStopRequest });
  // Read again: the previous holder of the lease may have updated the run.
  const run = await store.getRun(resume);
  const stored = read(run);
  const state = record.resumedState(stored, run.status);
  if (state === null) return { run, state: stored, isOver: true, lease };
  const found = { run, state, isOver: false, lease };
  return run.status === 'finished' ? found : { ...found, run: await reopenRun(store, found) };
}

/** Sets a resumed run to running in the store, with its state. */
export function reopenRun<TState extends object>(
  store: Store,
  { run, state }: Pick<Found<TState>, 'run' | 'state'>,
): Promise<Run> {
  return store.updateRun(run.runId, { status: 'running', state: writeState(state) });
}

/** Creates a run. @throws AgentLightningError CONFLICT that names the command to resume an existing run */
async function createRun(store: Store, run: Parameters<Store['createRun']>[0]): Promise<void> {
  try {
    await store.createRun(run);
  } catch (error) {
    if (!AgentLightningError.isInstance(error) || error.code !== 'CONFLICT') throw error;
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `run ${run.runId} exists`,
      remedy: `Resume it with \`agl train --resume ${run.runId}\`, with more \`--steps\` if it has finished, or use another id (\`--run\`).`,
      cause: error,
    });
  }
}

function checkRunId(runId: string): string {
  if (isRunId(runId)) return runId;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `invalid run id: "${runId}"`,
    remedy: 'Use 1 to 64 letters, digits, underscores and single hyphens, without a hyphen at the end.',
  });
}

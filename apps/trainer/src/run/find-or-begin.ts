import { AgentLightningError, type JsonObject, type Run, type Store } from '@agentlightning/core';
import { newId } from '@agentlightning/core/store';
import { isRunId } from './model-name.ts';
import { type RunLease, takeRunLease } from './run-lease.ts';
import { assertSameShape, shapeKey } from './run-shape.ts';
import { writeState } from './write-state.ts';

/** Which run to work on. */
export interface RunChoice {
  /** The id of a new run; null draws one. */
  readonly runId: string | null;
  /** The run to go on with; null begins a new one. */
  readonly resume: string | null;
}

/** A run that this process may work on, and where it stands. */
export interface Found<TState> {
  readonly run: Run;
  readonly state: TState;
  /** Whether the run has finished and has nothing left to do. */
  readonly isOver: boolean;
  readonly lease: RunLease;
}

/** What a kind of run keeps in the store. */
export interface RunRecord<TState extends object> {
  /** For people. */
  readonly name: string;
  /** What must stay the same when a run is gone on with. */
  readonly shape: JsonObject;
  /** The configuration in the form that the store keeps. */
  readonly config: JsonObject;
  /** The state of a run that has not begun. */
  readonly initial: TState;
  /**
   * The state that a stored run is in.
   *
   * @throws AgentLightningError CONFIG when it is a run of another kind
   */
  read(run: Run): TState;
  /** Where a run is gone on with, from how it was left; null when it is finished and stays so. */
  goOn(state: TState, status: Run['status']): TState | null;
}

/**
 * Begins a run, or finds the one to go on with. One that has finished and has more to do stays finished, with all that it
 * came to, until everything that it needs is open: {@link reopenRun}.
 *
 * @throws AgentLightningError NOT_FOUND for an unknown run, CONFIG for an id that cannot be one and for a configuration
 *   that the run cannot go on with, CONFLICT for an id that is taken and for a run that another process works on
 */
export async function findOrBegin<TState extends object>(
  store: Store,
  { runId, resume }: RunChoice,
  record: RunRecord<TState>,
): Promise<Found<TState>> {
  const { name, shape, initial } = record;
  if (resume === null) {
    const id = checkRunId(runId ?? newId('run'));
    await createRun(store, { runId: id, name, config: { ...record.config, [shapeKey]: shape } });
    const lease = await takeRunLease(store, id);
    return { run: await store.updateRun(id, { state: writeState(initial) }), state: initial, isOver: false, lease };
  }
  // One that was killed in the moment it was made has not begun.
  const read = (run: Run): TState => (Object.keys(run.state).length === 0 ? initial : record.read(run));
  const before = await store.getRun(resume);
  read(before);
  assertSameShape(before, shape);
  const lease = await takeRunLease(store, resume);
  // Read again: whoever had the run may have gone on with it meanwhile.
  const run = await store.getRun(resume);
  const left = read(run);
  const state = record.goOn(left, run.status);
  if (state === null) return { run, state: left, isOver: true, lease };
  const found = { run, state, isOver: false, lease };
  return run.status === 'finished' ? found : { ...found, run: await reopenRun(store, found) };
}

/** Says in the store that a run is gone on with, and from where. */
export function reopenRun<TState extends object>(
  store: Store,
  { run, state }: Pick<Found<TState>, 'run' | 'state'>,
): Promise<Run> {
  return store.updateRun(run.runId, { status: 'running', state: writeState(state) });
}

/** Whoever gives the id of a run that is there may want to go on with it. */
async function createRun(store: Store, run: Parameters<Store['createRun']>[0]): Promise<void> {
  try {
    await store.createRun(run);
  } catch (error) {
    if (!AgentLightningError.isInstance(error) || error.code !== 'CONFLICT') throw error;
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `there is a run ${run.runId} already`,
      remedy: `Go on with it with \`agl train --resume ${run.runId}\`, and more \`--steps\` if it has finished; or use another id (\`--run\`).`,
      cause: error,
    });
  }
}

function checkRunId(runId: string): string {
  if (isRunId(runId)) return runId;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `"${runId}" cannot be the id of a run`,
    remedy: 'Use 1 to 64 letters, digits, underscores and single hyphens, and end with none of these hyphens.',
  });
}

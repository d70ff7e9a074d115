import { judgeBySettings } from '../diagnosis/verdict.ts';
import { measure } from '../evaluation/evaluate.ts';
import type { RunState } from '../run/run-state.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { saveState } from './run-evaluations.ts';

/** Evaluates the initial weights on the guards, unless they have been. A run that has begun to train without a guard does not get it. */
export async function evaluateGuardsBefore(session: TrainingSession, state: RunState): Promise<RunState> {
  if (state.finishedStep > 0) return state;
  let current = state;
  for (const [name, tasks] of Object.entries(session.tasks.guards)) {
    if (current.guards?.[name] !== undefined) continue;
    const before = await measure(session, { phase: 'before', step: 0, key: `guard-${name}-before`, tasks });
    const guards = { ...current.guards, [name]: { before, after: null, verdict: null } };
    current = await saveState(session, { ...current, guards });
  }
  return current;
}

/** The state with the evaluations of the guards by the final weights, which are served, and the verdicts. */
export async function evaluateGuardsAfter(session: TrainingSession, state: RunState): Promise<RunState> {
  if (state.guards === undefined) return state;
  const step = state.finalStep ?? state.finishedStep;
  const guards = { ...state.guards };
  for (const [name, tasks] of Object.entries(session.tasks.guards)) {
    const guard = guards[name];
    if (guard === undefined) continue;
    const key = `guard-${name}-after-${state.finishedStep}-with-${step}`;
    const after = await measure(session, { phase: 'after', step, key, tasks });
    const { verdict } = judgeBySettings(guard.before, after, session.config);
    guards[name] = { ...guard, after, verdict };
  }
  return { ...state, guards };
}

/** The rewards on the guards, for the summary of a run. */
export function guardTexts({ guards = {} }: Pick<RunState, 'guards'>): readonly string[] {
  return Object.entries(guards).flatMap(([name, { before, after, verdict }]) => {
    if (after === null || verdict === 'better' || verdict === 'not-significant') return [];
    const change = `on the guard ${name}, the reward is ${after.reward.toFixed(2)} after training and was ${before.reward.toFixed(2)}`;
    const reason = verdict === 'worse' ? 'significantly worse' : 'and both cannot be compared';
    return [`${change}, ${reason}: \`agl deploy\` refuses the version unless the fall is accepted`];
  });
}

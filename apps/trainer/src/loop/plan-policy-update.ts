import { splitByTokens } from '@agentlightning/algorithms/internal';
import { AgentLightningError } from '@agentlightning/core';
import type {
  CollectedRollout,
  ScoringPolicy,
  ScoringRequest,
  SequenceScores,
  StepContext,
  StepPlan,
} from '@agentlightning/core/algorithm';
import type { TrainableModel, TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import type { RewardDefinition } from '../config/reward-definition.ts';
import { stepsBefore } from '../config/stages.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { groupRollouts } from '../rollouts/collect-rollouts.ts';
import type { OpenTeacher, TrainedPolicy } from '../session/session-policies.ts';
import type { TrainingSession } from '../session/training-session.ts';

/** The plan of a policy's step. */
export interface PlannedUpdate {
  readonly plan: StepPlan;
  /** Of the weights before the step. */
  readonly policyVersion: number;
}

/** Plans the update of a policy from the rollouts of a step. */
export async function planPolicyUpdate(
  { config, capabilities }: TrainingSession,
  policy: TrainedPolicy,
  { collected, step }: { readonly collected: readonly FinishedRollout[]; readonly step: number },
): Promise<PlannedUpdate> {
  const { learner, model, reference, teacher } = policy;
  const { maxBatchTokens } = capabilities;
  const groups = groupRollouts(collected.map((rollout) => withFailedReward(rollout, config.reward)));
  const { policyVersion } = await model.state();
  const context: StepContext = {
    // Schedules are those of the stage.
    step: step - stepsBefore(config),
    totalSteps: config.steps - stepsBefore(config),
    policyVersion,
    seed: (spreadSeed(config.seed) + step) >>> 0,
    maxBatchTokens,
    ...(teacher === null
      ? {}
      : {
          maxTeacherTokens: teacher.maxTokens,
          prompts: await teacher.renderPrompts(learner.teacherPrompts?.(groups) ?? []),
        }),
  };
  const request = learner.scoring?.(groups, context) ?? null;
  if (request === null) return { plan: learner.planStep(groups, context), policyVersion };
  const scores = await scoreSequences(request, { model, reference, teacher, maxBatchTokens });
  return { plan: learner.planStep(groups, { ...context, scores }), policyVersion };
}

/** Gives a rollout whose agent failed its reward. What infrastructure failed has none, also when the agent hid the failure. */
function withFailedReward(finished: FinishedRollout, { failedReward }: RewardDefinition): CollectedRollout {
  const { rollout, attemptId, spans, failure } = finished;
  if (failure === 'agent' && failedReward !== null) return { rollout, attemptId, spans, failedReward };
  return failure === 'infrastructure' ? { rollout: { ...rollout, status: 'failed' }, attemptId, spans } : finished;
}

/** Spreads neighbouring seeds: the seeds of step 2 of seed 1 and step 1 of seed 2 differ. */
function spreadSeed(seed: number): number {
  return Math.imul(seed + 1, 0x9e3779b1) >>> 0;
}

/** The models that score sequences. */
interface ScoringModels {
  readonly model: TrainableModel;
  /** The initial model of the run. */
  readonly reference: () => Promise<Pick<TrainableModel, 'logprobs'>>;
  /** Null for an algorithm without one. */
  readonly teacher: OpenTeacher | null;
  /** Limit for the tokens of a batch. */
  readonly maxBatchTokens: number;
}

/** Requests the log-probabilities and values that an algorithm needs to plan a step. */
async function scoreSequences(request: ScoringRequest, models: ScoringModels): Promise<SequenceScores> {
  const scores: Partial<Record<ScoringPolicy, readonly Float32Array[]>> = {};
  for (const policy of request.policies) {
    const data = policy === 'teacher' ? (request.teacherData ?? request.data) : request.data;
    scores[policy] = await scoresOf(await scorerOf(policy, models), data, models.maxBatchTokens);
  }
  return scores;
}

type Scorer = (batch: TrainingBatch) => Promise<readonly Float32Array[]>;

async function scorerOf(policy: ScoringPolicy, { model, reference, teacher }: ScoringModels): Promise<Scorer> {
  switch (policy) {
    case 'current':
      return (batch) => model.logprobs(batch);
    case 'critic':
      return (batch) => model.values(batch);
    case 'reference': {
      const initial = await reference();
      return (batch) => initial.logprobs(batch);
    }
    case 'teacher':
      if (teacher === null) throw withoutTeacher();
      return (batch) => teacher.logprobs(batch);
  }
}

function withoutTeacher(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'the algorithm requests scores of a teacher, but has none',
    remedy: 'Give the algorithm a field `teacher`, such as "initial".',
  });
}

/** Scores sequences in batches of similar length. The scores are in the order of `data`. */
async function scoresOf(
  score: Scorer,
  data: readonly TrainingDatum[],
  maxBatchTokens: number,
): Promise<readonly Float32Array[]> {
  const byDatum = new Map<TrainingDatum, Float32Array>();
  for (const batch of splitByTokens(data, maxBatchTokens)) {
    const scored = await score(batch);
    for (const [index, datum] of batch.data.entries()) byDatum.set(datum, scored[index] ?? new Float32Array());
  }
  return data.map((datum) => byDatum.get(datum) ?? new Float32Array());
}

import { AgentLightningError } from '@agentlightning/core';
import type { EndpointTeacher as EndpointSettings, ExternalTeacher } from '@agentlightning/core/algorithm';
import { readSecret, secretText } from '@agentlightning/core/settings';
import type { CreateModelOptions, RuntimeCapabilities, TrainableModel } from '@agentlightning/core/training-runtime';
import { environmentVariables } from '../config/environment.ts';
import { qualifiedRunId, stagedPolicy, teacherName } from '../config/model-name.ts';
import { findTeachers, teacherKey } from '../run/find-teachers.ts';
import type { TeacherCheckpoint } from '../run/teacher-checkpoint.ts';
import { chooseBaseModel } from '../runtime/choose-base-model.ts';
import { assertOfProject, type ModelSource } from '../session/open-models.ts';
import type { OpenTeacher } from '../session/session-policies.ts';
import type { ForcedEndpoint } from '../stored-data/forced-call.ts';
import { EndpointTeacher, probeText } from './endpoint-teacher.ts';
import { assertRenders, renderPrompts, withoutRendering } from './render-prompts.ts';
import type { ServedSessionPolicy, ServeRequest } from './serve-policies.ts';

/** What a teacher is opened with. */
export interface TeacherRequest extends ModelSource, Pick<ServeRequest, 'inferenceKey' | 'store'> {}

/**
 * Opens the teacher of a policy, before the first rollout.
 *
 * @returns null for an algorithm without a teacher
 * @throws AgentLightningError CONFIG when its tokenizer is not that of the policy, or the endpoint cannot render prompts; NOT_FOUND
 *   without its checkpoint
 */
export async function openTeacher(policy: ServedSessionPolicy, request: TeacherRequest): Promise<OpenTeacher | null> {
  const { learner, model, reference, endpoint } = policy;
  if (learner?.teacher === undefined) return null;
  const { teacher } = learner;
  const { capabilities, config } = request;
  const ownBase = chooseBaseModel(policy.baseModel ?? config.runtime.model, capabilities);
  const server = { baseUrl: endpoint.baseUrl, model: endpoint.model, apiKey: request.inferenceKey(endpoint) };
  if (learner.teacherPrompts !== undefined) await assertRenders(server);
  const opened = (base: string, logprobs: TrainableModel['logprobs']): OpenTeacher => ({
    logprobs,
    maxTokens: Math.min(contextOf(base, capabilities), capabilities.maxBatchTokens),
    renderPrompts: (requests) => renderPrompts(server, requests),
  });
  if (teacher === 'current') return opened(ownBase, (batch) => model.logprobs(batch));
  if (teacher === 'initial') return opened(ownBase, async (batch) => (await reference()).logprobs(batch));
  if ('endpoint' in teacher) return opened(ownBase, await openEndpoint(teacher, { server, request }));
  const { base, scorer } = await openExternal(teacher, policy, { request, ownBase });
  return opened(base, (batch) => scorer.logprobs(batch));
}

function contextOf(base: string, { models }: Pick<RuntimeCapabilities, 'models'>): number {
  return models.find(({ name }) => name === base)?.maxContext ?? Number.POSITIVE_INFINITY;
}

/** @returns the scores of a model behind an endpoint */
async function openEndpoint(
  { endpoint: baseUrl, model, apiKey: secret }: EndpointSettings,
  { server, request }: { readonly server: ForcedEndpoint; readonly request: TeacherRequest },
): Promise<TrainableModel['logprobs']> {
  const { temperature = 1 } = request.config.sampling;
  if (temperature !== 1) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `sampling.temperature is ${temperature}, but a teacher behind an endpoint scores tokens at temperature 1`,
      remedy: 'Remove `sampling.temperature`, or use a teacher of the runtime ({ run } or { model }).',
    });
  }
  const apiKey = secret === undefined ? null : readSecret(secret, environmentVariables());
  if (secret !== undefined && apiKey === null) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${secretText(secret)}, named by \`algorithm.teacher\`, is not set`,
      remedy: `Set it: ${secret.env}=… agl train …`,
    });
  }
  const teacher = new EndpointTeacher({ baseUrl: baseUrl.replace(/\/+$/, ''), model, apiKey });
  const [probe] = await renderPrompts(server, [{ messages: [{ role: 'user', content: probeText }], fields: {} }]);
  if (!probe) throw withoutRendering(server);
  await teacher.assertSameTokenizer(probe);
  return (batch) => teacher.logprobs(batch);
}

/** Opens a teacher in the runtime that is not a version of the policy. */
async function openExternal(
  teacher: Exclude<ExternalTeacher, EndpointSettings>,
  policy: ServedSessionPolicy,
  { request, ownBase }: { readonly request: TeacherRequest; readonly ownBase: string },
): Promise<{ readonly base: string; readonly scorer: TrainableModel }> {
  const { capabilities, runtime, run, config, state } = request;
  const checkpoint = 'run' in teacher ? await checkpointOf(policy, request) : null;
  const base = chooseBaseModel('run' in teacher ? (checkpoint?.baseModel ?? ownBase) : teacher.model, capabilities);
  assertSameTokenizer(base, ownBase, capabilities);
  if (checkpoint !== null) assertOfProject(checkpoint.uri, config.project);
  const modelId = teacherName(qualifiedRunId(run.runId, config.project), stagedPolicy(policy.name, config.stage));
  const shape = checkpoint === null ? {} : shapeOf(checkpoint);
  const scorer = await runtime.createModel({ baseModel: base, modelId, seed: state.seed, ...shape });
  return { base, scorer };
}

/** The checkpoint that the run recorded when it began; of a teacher that was configured later, the present one. */
async function checkpointOf(
  policy: ServedSessionPolicy,
  { state, store, config }: TeacherRequest,
): Promise<TeacherCheckpoint | null> {
  const key = teacherKey(policy, config);
  return state.teachers?.[key] ?? (await findTeachers(store, config))[key] ?? null;
}

function shapeOf({ uri, lora, hasValueHead }: TeacherCheckpoint): Partial<CreateModelOptions> {
  return {
    initialCheckpoint: uri,
    ...(lora === null ? {} : { lora }),
    ...(hasValueHead ? { hasValueHead } : {}),
  };
}

/** Token ids of the policy mean the same to a teacher with the same tokenizer only. */
function assertSameTokenizer(teacher: string, policy: string, { models }: Pick<RuntimeCapabilities, 'models'>): void {
  if (teacher === policy) return;
  const hashOf = (base: string): string | undefined => models.find(({ name }) => name === base)?.tokenizerSha256;
  const [theirs, ours] = [hashOf(teacher), hashOf(policy)];
  if (theirs !== undefined && theirs === ours) return;
  const reason =
    theirs === undefined || ours === undefined
      ? 'the runtime does not report the tokenizers of both'
      : `their tokenizers have the hashes ${theirs.slice(0, 12)} and ${ours.slice(0, 12)}`;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `the base model ${teacher} of the teacher cannot score the tokens of ${policy}: ${reason}`,
    remedy: 'Choose a teacher of the same model family, with the same tokenizer.',
    details: { teacher, policy },
  });
}

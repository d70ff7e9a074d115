/**
 * Building blocks for authors of adapters. Users of an adapter do not need this module.
 *
 * @module
 */

export type { AgentStep, AgentStepEnd, AgentStepKind, TracePosition } from './agent-step.ts';
export type { AgentStepsOptions } from './agent-steps.ts';
export { AgentSteps } from './agent-steps.ts';
export { unsupportedFramework } from './framework-version.ts';
export type { FetchLayerMaker } from './global-fetch.ts';
export { redirectGlobalFetch } from './global-fetch.ts';
export type { Within } from './iterate-within.ts';
export { iterateWithin } from './iterate-within.ts';
export type { ModelApi, ModelRequest } from './model-request.ts';
export type { OpenAIPrototype } from './openai-client.ts';
export { wrapOpenAIFetch } from './openai-client.ts';
export type { Method } from './patch-method.ts';
export { patchMethod } from './patch-method.ts';
export type { RedirectedFetchOptions, RedirectOptions } from './redirected-fetch.ts';
export { redirectedFetch } from './redirected-fetch.ts';
export { modelRequestAttributes, modelResponseAttributes } from './responses/model-call-attributes.ts';
export { sharedInstrumentation } from './shared-instrumentation.ts';
export type { GeneratorTap } from './tap-generator.ts';
export { tapGenerator } from './tap-generator.ts';
export type { StreamTap } from './tap-stream.ts';
export { tapStream } from './tap-stream.ts';

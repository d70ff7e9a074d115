/**
 * Building blocks for authors of adapters. Users of an adapter do not need this module.
 *
 * @module
 */

export { numberOf, objectsOf, textOf } from '../base/json-access.ts';
export type { Fields } from '../spans/unknown-value.ts';
export { fieldsOf, hasFields, plainText } from '../spans/unknown-value.ts';
export { rolloutStorage } from '../tracing/rollout-context.ts';
export { abortControllerWithin, noteSignal } from './abort-reasons.ts';
export type { AgentStep, AgentStepEnd, AgentStepKind, TracePosition } from './agent-step.ts';
export type { AgentStepsOptions } from './agent-steps.ts';
export { AgentSteps } from './agent-steps.ts';
export type { ConversationStart } from './conversation-steps.ts';
export { ConversationSteps, contentText } from './conversation-steps.ts';
export type { FetchLayer } from './fetch-layer.ts';
export { bareFetch, markLayer, positionOfLayers } from './fetch-layer.ts';
export { installedVersion, unsupportedFramework } from './framework-version.ts';
export { gatewayHeaders, positionOfContext } from './gateway-request.ts';
export type { FetchLayerMaker } from './global-fetch.ts';
export { layGlobalFetch, redirectGlobalFetch } from './global-fetch.ts';
export type { Within } from './iterate-within.ts';
export { isAsyncIterable, iterateWithin, tapIterable } from './iterate-within.ts';
export type { LoopStepsOptions } from './loop-steps.ts';
export { LoopSteps } from './loop-steps.ts';
export type { ModelApi, ModelRequest, ReadFetch } from './model-request.ts';
export { readFetch } from './model-request.ts';
export type { ModuleRequire } from './module-requires.ts';
export { loadModule, moduleRequires, resolveModule } from './module-requires.ts';
export type { OpenAIPrototype } from './openai-client.ts';
export { openAIPrototype, wrapOpenAIFetch } from './openai-client.ts';
export type { Method } from './patch-method.ts';
export { hasMethod, patchMethod, patchMethods } from './patch-method.ts';
export type { GatewayCall, RedirectedFetchOptions, RedirectOptions } from './redirected-fetch.ts';
export {
  headersOf,
  isForGateway,
  isRedirected,
  nextFetch,
  redirectedFetch,
  signalOf,
  throughGateway,
} from './redirected-fetch.ts';
export {
  modelRequestAttributes,
  modelResponseAttributes,
  samplingAttributes,
  usageAttributes,
  withoutAttributes,
} from './responses/model-call-attributes.ts';
export type { PartsResponse } from './responses/parts-response.ts';
export { assistantMessage, partsOf, partsResponseBody } from './responses/parts-response.ts';
export { StreamedAnthropicMessage } from './responses/streamed-anthropic-message.ts';
export { StreamedParts } from './responses/streamed-parts.ts';
export { StreamedResponse } from './responses/streamed-response.ts';
export type { ToolCallFields } from './responses/tool-call-attributes.ts';
export { toolCallAttributes } from './responses/tool-call-attributes.ts';
export { sharedInstrumentation, tryInstrument } from './shared-instrumentation.ts';
export type { GeneratorTap } from './tap-generator.ts';
export { tapGenerator } from './tap-generator.ts';
export type { StreamTap } from './tap-stream.ts';
export { tapResponse, tapStream } from './tap-stream.ts';
export { quietly, warnOnce } from './warn-once.ts';
export { withMembers } from './with-members.ts';

export { finalCalls } from './final-calls.ts';
export type { CallDetails, CurrentTrace, SampledTrace, SampleTracesOptions } from './sample-traces.ts';
export { currentTrace, sampleTraces } from './sample-traces.ts';
export type { SendToStoreOptions, TraceSender } from './send-to-store.ts';
export { sendToStore } from './send-to-store.ts';
export { traceMessages } from './step-messages.ts';
export { terminalText } from './terminal-text.ts';
export type { TracePageOptions } from './trace-html.ts';
export { traceHtml } from './trace-html.ts';
export { traceMermaid } from './trace-mermaid.ts';
export type { AgentTrace, TracedAgent, TraceOnceContext, TraceOnceOptions } from './trace-once.ts';
export { traceOnce } from './trace-once.ts';
export type {
  TraceMessage,
  TraceMessagePart,
  TraceStep,
  TraceStepKind,
  TraceStepOutcome,
  TraceTokens,
} from './trace-step.ts';
export { traceSteps } from './trace-steps.ts';
export { traceSummary } from './trace-summary.ts';
export type { TraceTextOptions } from './trace-text.ts';
export { traceText } from './trace-text.ts';
export type { WalkedStep } from './walk-steps.ts';
export { walkSteps } from './walk-steps.ts';

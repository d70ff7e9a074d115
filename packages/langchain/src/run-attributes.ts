import type { Attributes, AttributeValue } from '@agentlightning/core';
import { plainText } from '@agentlightning/core/adapter';
import { textOf } from './framework-value.ts';

/** What the framework and the user say about a run, as it comes with each event. */
export type RunMetadata = Readonly<Record<string, unknown>>;

/** What comes with the beginning of every run. */
export interface RunOrigin {
  readonly runId: string;
  readonly parentRunId: string | undefined;
  readonly tags: readonly string[] | undefined;
  readonly metadata: RunMetadata | undefined;
  readonly runName: string | undefined;
  /** What runs, as LangChain serialises it: its class. */
  readonly serialized: unknown;
}

/** Attributes of LangChain and LangGraph. */
export const langchainAttributes = {
  runId: 'langchain.run_id',
  tags: 'langchain.tags',
  node: 'langgraph.node',
  step: 'langgraph.step',
  checkpointNamespace: 'langgraph.checkpoint_ns',
  threadId: 'langgraph.thread_id',
  /** True on a run that stopped to ask somebody; `langgraph.interrupts` has what it asks. */
  isInterrupted: 'langgraph.interrupted',
  interrupts: 'langgraph.interrupts',
  /** True on the run that goes on with a thread that was interrupted. */
  isResumed: 'langgraph.resumed',
  /** 1 for the first time that a node runs again after it failed, and so on. */
  retry: 'langgraph.retry',
  /** OpenTelemetry's name for what `langgraph.thread_id` says. */
  conversationId: 'gen_ai.conversation.id',
} as const;

/** What every span of a run says about where it comes from. */
export function originAttributes({ runId, tags, metadata = {} }: RunOrigin): Attributes {
  const threadId = textOf(metadata.thread_id);
  return {
    [langchainAttributes.runId]: runId,
    ...(tags === undefined || tags.length === 0 ? {} : { [langchainAttributes.tags]: tags }),
    ...found(langchainAttributes.node, metadata.langgraph_node),
    ...found(langchainAttributes.step, metadata.langgraph_step),
    ...found(langchainAttributes.checkpointNamespace, metadata.langgraph_checkpoint_ns),
    ...(threadId === null
      ? {}
      : { [langchainAttributes.threadId]: threadId, [langchainAttributes.conversationId]: threadId }),
  };
}

function found(name: string, value: unknown): Attributes {
  if (value === undefined || value === null) return {};
  const known: AttributeValue = typeof value === 'number' ? value : plainText(value);
  return { [name]: known };
}

import type { Attributes, AttributeValue } from '@agentlightning/core';
import { plainText } from '@agentlightning/core/internal';
import { textOf } from './framework-value.ts';

/** Metadata from the framework and the user, sent with each event. */
export type RunMetadata = Readonly<Record<string, unknown>>;

/** The fields common to the start events of all runs. */
export interface RunOrigin {
  readonly runId: string;
  readonly parentRunId: string | undefined;
  readonly tags: readonly string[] | undefined;
  readonly metadata: RunMetadata | undefined;
  readonly runName: string | undefined;
  /** The class of the run, as LangChain serialises it. */
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
  /** True on a run that stopped at an interrupt; `langgraph.interrupts` has the values. */
  isInterrupted: 'langgraph.interrupted',
  interrupts: 'langgraph.interrupts',
  /** True on the run that resumes an interrupted thread. */
  isResumed: 'langgraph.resumed',
  /** The number of the retry of a failed node, from 1. */
  retry: 'langgraph.retry',
  /** OpenTelemetry's name for `langgraph.thread_id`. */
  conversationId: 'gen_ai.conversation.id',
} as const;

/** The attributes common to all spans of a run. */
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

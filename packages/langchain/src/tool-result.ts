import { type Attributes, genAiAttributes } from '@agentlightning/core';
import type { AgentStepEnd } from '@agentlightning/core/adapter';
import { attributeText, fieldsOf, jsonOf } from './framework-value.ts';

/** How a tool's run ended, by what it gave back: a text, a message for the model, or a command for the graph. */
export function toolResultEnd(output: unknown): AgentStepEnd {
  const { content, status } = fieldsOf(output);
  const result = attributeText(content ?? output);
  const attributes = { [genAiAttributes.toolCallResult]: result };
  return status === 'error' ? { attributes, error: result } : { attributes };
}

/** The documents that a retriever found. */
export function documentsAttributes(documents: unknown): Attributes {
  const found = Array.isArray(documents) ? documents.map(fieldsOf) : [];
  const shown = found.map(({ id, pageContent, metadata }) => ({
    ...(id === undefined ? {} : { id: jsonOf(id) }),
    content: jsonOf(pageContent),
    metadata: jsonOf(metadata),
  }));
  return { 'gen_ai.retrieval.documents': JSON.stringify(shown) };
}

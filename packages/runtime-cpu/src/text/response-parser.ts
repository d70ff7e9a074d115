import type { ChatTool, ChatToolCall, ParsedResponse } from '@agentlightning/runtime/internal/serving';
import { decodeTokens } from './tokenizer.ts';
import { parseArguments } from './tool-call.ts';
import { type ToolSignature, toolSignatures } from './tool-signature.ts';
import { maxTools, specialToken } from './vocabulary.ts';

/** Context for parsing a response. */
export interface ParseResponseOptions {
  /** The tools of the request. */
  readonly tools: readonly ChatTool[];
  /** Whether the model ended its turn or ran out of tokens. */
  readonly finishReason: 'stop' | 'length';
  /** Prefix of the call ids: `<prefix>_<index>`. */
  readonly callIdPrefix: string;
}

/**
 * Parses sampled tokens as an assistant message. A truncated response, or one that calls an unknown tool or passes too
 * many values, becomes plain text in which special tokens appear by their names.
 */
export function parseResponse(tokens: readonly number[], options: ParseResponseOptions): ParsedResponse {
  const body = tokens.at(-1) === specialToken.end ? tokens.slice(0, -1) : tokens;
  const plain: ParsedResponse = {
    content: decodeTokens(body),
    toolCalls: [],
    finishReason: options.finishReason,
  };
  if (options.finishReason === 'length') return plain;
  const firstCall = body.findIndex(isToolToken);
  if (firstCall < 0) return plain;
  const text = body.slice(0, firstCall);
  const toolCalls = parseCalls(body.slice(firstCall), toolSignatures(options.tools), options.callIdPrefix);
  if (toolCalls === undefined || text.includes(specialToken.argument)) return plain;
  return {
    content: text.length > 0 ? decodeTokens(text) : null,
    toolCalls,
    finishReason: 'tool_calls',
  };
}

function isToolToken(token: number): boolean {
  return token >= specialToken.firstTool && token < specialToken.firstTool + maxTools;
}

function parseCalls(
  tokens: readonly number[],
  tools: readonly ToolSignature[],
  callIdPrefix: string,
): ChatToolCall[] | undefined {
  const calls: ChatToolCall[] = [];
  let from = 0;
  while (from < tokens.length) {
    const next = tokens.findIndex((token, index) => index > from && isToolToken(token));
    const until = next < 0 ? tokens.length : next;
    const tool = tools[(tokens[from] ?? 0) - specialToken.firstTool];
    const json = tool && parseArguments(tokens.slice(from + 1, until), tool);
    if (tool === undefined || json === undefined) return undefined;
    calls.push({
      id: `${callIdPrefix}_${calls.length}`,
      type: 'function',
      function: { name: tool.name, arguments: json },
    });
    from = until;
  }
  return calls;
}

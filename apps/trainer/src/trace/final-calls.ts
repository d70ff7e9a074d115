import { createHash } from 'node:crypto';
import type { TraceMessage, TraceStep } from '@agentlightning/trace';

/**
 * The model calls that no other call continues, in order. A call continues another one when its messages are those of the other
 * call, a response, and more. A call with several choices is kept, since at most one of them is continued.
 */
export function finalCalls(calls: readonly TraceStep[]): readonly TraceStep[] {
  const digests = new Map(calls.map((call) => [call, prefixDigests(call.inputMessages)]));
  const continued = new Set<string>();
  for (const call of calls) {
    const prefixes = digests.get(call) ?? [];
    for (let length = 1; length < call.inputMessages.length; length += 1) {
      const digest = prefixes[length - 1];
      if (call.inputMessages[length]?.role === 'assistant' && digest !== undefined) continued.add(digest);
    }
  }
  return calls.filter((call) => {
    const digest = digests.get(call)?.at(-1);
    return digest === undefined || call.outputMessages.length > 1 || !continued.has(digest);
  });
}

/** For each length, a digest of that many first messages. */
function prefixDigests(messages: readonly TraceMessage[]): readonly string[] {
  let digest = '';
  return messages.map((message) => {
    digest = createHash('sha256').update(digest).update(JSON.stringify(message)).digest('base64');
    return digest;
  });
}

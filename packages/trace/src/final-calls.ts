import type { TraceStep } from './trace-step.ts';

/** A node of the tree of message prefixes: the conversations that begin with the same messages share it. */
interface Prefix {
  readonly next: Map<string, Prefix>;
  /** Whether a call has these messages, a response, and more. */
  isContinued: boolean;
}

/**
 * The model calls that no other call continues, in order. A call continues another one when its messages are those of the other
 * call, a response, and more. A call with several choices is kept, since at most one of them is continued.
 */
export function finalCalls(calls: readonly TraceStep[]): readonly TraceStep[] {
  const root: Prefix = { next: new Map(), isContinued: false };
  const prefixes = new Map(calls.map((call) => [call, addPrefixes(root, call)]));
  return calls.filter((call) => {
    const isContinued = prefixes.get(call)?.isContinued ?? false;
    return call.inputMessages.length === 0 || call.outputMessages.length > 1 || !isContinued;
  });
}

/** Adds the prefixes of a call's messages to the tree; returns that of all its messages. */
function addPrefixes(root: Prefix, { inputMessages }: TraceStep): Prefix {
  let prefix = root;
  for (const message of inputMessages) {
    if (message.role === 'assistant') prefix.isContinued = true;
    const key = JSON.stringify(message);
    const next = prefix.next.get(key) ?? { next: new Map<string, Prefix>(), isContinued: false };
    prefix.next.set(key, next);
    prefix = next;
  }
  return prefix;
}

import { timingSafeEqual } from 'node:crypto';
import { crossOriginReason } from '@agentlightning/core/protocol';
import type { HandlerContext } from '@connectrpc/connect';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { sha256 } from '../wire/sha256.ts';

/** The parts of a call that are available before its messages. */
export type ReceivedCall = Pick<HandlerContext, 'requestHeader' | 'url'>;

/** The checks of a call. */
export interface CallGuardOptions {
  /** Undefined when no key is required. */
  readonly apiKey: string | undefined;
  /** Whether the server is on loopback in plain text, where only this machine may call. */
  readonly isLocal: boolean;
}

/** A function that throws for a call that must be rejected. */
export function callGuard({ apiKey, isLocal }: CallGuardOptions): (call: ReceivedCall) => void {
  const expected = apiKey === undefined ? null : sha256(Buffer.from(`Bearer ${apiKey}`));
  return (call) => {
    if (isLocal) assertLocal(call);
    if (expected !== null) assertKey(call.requestHeader.get('authorization') ?? '', expected);
  };
}

function assertLocal(call: ReceivedCall): void {
  const reason = crossOriginReason({ host: new URL(call.url).host, origin: call.requestHeader.get('origin') });
  if (reason === null) return;
  throw new RuntimeError({
    reason: ErrorReason.UNAUTHENTICATED,
    message: `A training runtime on loopback accepts calls of this machine only, and ${reason}`,
    remedy: 'Call it at localhost, or serve it with TLS.',
  });
}

/** Compares digests, whose length is not secret, in constant time. */
function assertKey(sent: string, expected: Uint8Array): void {
  if (timingSafeEqual(sha256(Buffer.from(sent)), expected)) return;
  throw new RuntimeError({
    reason: ErrorReason.UNAUTHENTICATED,
    message: sent === '' ? 'The call has no API key' : 'The API key of the call is wrong',
    remedy: 'Pass the API key of the runtime as `apiKey` to connectRuntime.',
  });
}

import { errorMessage } from '@agentlightning/core/internal';
import type { ServiceListener } from '../events/training-listener.ts';

/** Closes an opened resource. */
export type Closer = () => Promise<void> | void;

/** Runs work, then closes the resources that it opened, in reverse order. */
export async function withClosers<TResult>(
  emit: ServiceListener,
  work: (onOpen: (close: Closer) => void) => Promise<TResult>,
): Promise<TResult> {
  const closers: Closer[] = [];
  try {
    return await work((close) => closers.unshift(close));
  } finally {
    await closeAll(closers, emit);
  }
}

/** Closes resources in order. A failure is a warning: the other resources must be closed, and the run keeps its result. */
export async function closeAll(closers: readonly Closer[], emit: ServiceListener): Promise<void> {
  for (const close of closers) {
    try {
      await close();
    } catch (error) {
      const reason = errorMessage(error);
      emit({ type: 'warning', message: `closing a resource failed: ${reason}` });
    }
  }
}

import type { AgentLightningError } from '@agentlightning/core';
import { fieldsOf, unsupportedFramework } from '@agentlightning/core/adapter';

/** The error for a module without the known class that executes runs. */
export function unsupportedLangChain(module: unknown, version: string | null): AgentLightningError {
  const names = Object.keys(fieldsOf(module)).slice(0, 3).join(', ');
  const found = version === null ? `a module with the exports: ${names || 'none'}` : `@langchain/core ${version}`;
  return unsupportedFramework(
    `Cannot trace runs of ${found}. Supported are @langchain/core 0.3.80 and later, and 1.x.`,
    "Install one of these versions, or pass `await import('@langchain/core/callbacks/manager')` as one of `modules`.",
  );
}

import { AgentLightningError } from '@agentlightning/core';
import { fieldsOf } from './framework-value.ts';

const supported = '@langchain/core 1.x';

/** What was passed as a module of LangChain is none. */
export function unsupportedModule(module: unknown): AgentLightningError {
  const names = Object.keys(fieldsOf(module)).slice(0, 5);
  return new AgentLightningError({
    code: 'UNSUPPORTED_FRAMEWORK',
    message: `This is no module of ${supported} that runs go through: it has ${names.join(', ') || 'no exports'}.`,
    remedy: "Pass what `await import('@langchain/core/callbacks/manager')` gives, or leave `modules` out.",
  });
}

/** The LangChain that is installed tells of its runs in a way that is not known. */
export function unsupportedVersion(version: string | null): AgentLightningError {
  return new AgentLightningError({
    code: 'UNSUPPORTED_FRAMEWORK',
    message: `@langchain/core ${version ?? 'of an unknown version'} has no CallbackManager._configureSync; supported is ${supported}.`,
    remedy: `Install ${supported}, or look for a newer @agentlightning/langchain.`,
    details: { version },
  });
}

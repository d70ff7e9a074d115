import { AgentLightningError, type ErrorCode } from '@agentlightning/core';
import { defaultRemedies } from '@agentlightning/core/internal';
import * as z from 'zod';

const codes = Object.keys(defaultRemedies) as [ErrorCode, ...ErrorCode[]];

/** An error between processes. */
export interface IpcError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly remedy: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Checks an {@link IpcError}. */
export const ipcErrorSchema: z.ZodType<IpcError> = z.object({
  code: z.enum(codes).catch('INTERNAL'),
  message: z.string(),
  remedy: z.string(),
  details: z.record(z.string(), z.unknown()),
});

/** Converts an error for another process. */
export function errorToIpc(error: unknown): IpcError {
  if (!AgentLightningError.isInstance(error)) {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return { code: 'INTERNAL', message, remedy: defaultRemedies.INTERNAL, details: {} };
  }
  const { code, remedy, details } = error;
  // Details may contain values that cannot be sent, such as functions.
  return { code, message: withoutCode(error), remedy, details: JSON.parse(JSON.stringify(details)) };
}

/** The error of another process. */
export function errorFromIpc({ code, message, remedy, details }: IpcError): AgentLightningError {
  return new AgentLightningError({ code, message, remedy, details });
}

/** The constructor adds the code to the message. */
function withoutCode({ code, message }: AgentLightningError): string {
  const prefix = `[${code}] `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}

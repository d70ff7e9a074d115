import { addressText } from '@agentlightning/core/internal';
import { defaultStoreUrl } from '../config/environment.ts';
import { relativePath, shellQuote } from './text-formats.ts';

/** The program name and the store for printed commands. */
export interface CommandContext {
  /** The program name. */
  readonly command: string;
  readonly storeUrl: string;
}

/** The option ` --store <url>` for commands that read a store; empty for the default store of the current directory. */
export function storeFlag(storeUrl: string): string {
  const near = relativePath(addressText(storeUrl));
  return near === defaultStoreUrl ? '' : ` --store ${shellQuote(near)}`;
}

/** Replaces each `agl show <rollout>` of a text by the complete command, with program name and store. */
export function completeCommands(text: string, { command, storeUrl }: CommandContext): string {
  return text.replace(
    /\bagl show (ro-[\w-]+|<rollout>)/g,
    (_, rollout: string) => `${command} show ${rollout}${storeFlag(storeUrl)}`,
  );
}

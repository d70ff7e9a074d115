import { addressText } from '@agentlightning/core/internal';
import { defaultStoreUrl } from '../config/default-store-url.ts';
import { nearPath } from './near-path.ts';
import { shellWord } from './shell-word.ts';

/** How commands are called here, and where the run is that they are about. */
export interface CommandPlace {
  /** How the program is called. */
  readonly command: string;
  readonly storeUrl: string;
}

/** ` --store <url>` for commands that read, which look in the current folder unless they are told; empty where they need not be. */
export function storeFlag(storeUrl: string): string {
  const near = nearPath(addressText(storeUrl));
  return near === defaultStoreUrl ? '' : ` --store ${shellWord(near)}`;
}

/** A text with each `agl show <rollout>` in it as it can be called from here: the store of a run may lie anywhere. */
export function callableText(text: string, { command, storeUrl }: CommandPlace): string {
  return text.replace(
    /\bagl show (ro-[\w-]+|<rollout>)/g,
    (_, rollout: string) => `${command} show ${rollout}${storeFlag(storeUrl)}`,
  );
}

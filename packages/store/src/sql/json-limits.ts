import { AgentLightningError } from '@agentlightning/core';

/** Maximum depth of a JSON body. */
const maxDepth = 200;
/** Maximum number of objects and arrays of a JSON body. */
const maxContainers = 100_000;
/** Maximum number of list items and fields of a JSON body; a span has an item per token of its prompt. */
const maxItems = 500_000;

const [quote, backslash, comma, openList, closeList, openObject, closeObject] = Buffer.from('"\\,[]{}');

/**
 * Checks the structure of a JSON text in one pass without allocations. Parsing and validation of what it admits take
 * a bounded time and memory.
 *
 * @returns the number of its objects, arrays and items
 * @throws AgentLightningError PAYLOAD_TOO_LARGE at the first bound that it exceeds
 */
export function assertJsonSize(text: Uint8Array): number {
  let depth = 0;
  let containers = 0;
  let items = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text[index]) {
      case quote:
        index = endOfString(text, index);
        break;
      case openList:
      case openObject:
        depth += 1;
        containers += 1;
        if (depth > maxDepth) throw tooLarge('levels of nested JSON', maxDepth);
        if (containers > maxContainers) throw tooLarge('JSON objects and arrays', maxContainers);
        break;
      case closeList:
      case closeObject:
        depth -= 1;
        break;
      case comma:
        items += 1;
        if (items > maxItems) throw tooLarge('JSON values', maxItems);
        break;
      default:
    }
  }
  return containers + items;
}

/** The index of the quote that ends a string. */
function endOfString(text: Uint8Array, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== quote) index += text[index] === backslash ? 2 : 1;
  return index;
}

/** The error for a request with too many parts of a kind. */
export function tooLarge(what: string, limit: number): AgentLightningError {
  return new AgentLightningError({
    code: 'PAYLOAD_TOO_LARGE',
    message: `The request has more than ${limit} ${what}`,
    remedy: 'Send it in several smaller requests.',
    details: { limit },
  });
}

import { AgentLightningError } from '@agentlightning/core';
import type { Context } from 'hono';
import type { StreamedPage } from '../sql/list-pages.ts';
import { jsonResponse } from './route-handler.ts';

/**
 * Responds with a list. Several pages are streamed: the next page is read after the client has received the previous
 * one, so long lists and slow clients use bounded memory.
 *
 * @throws the error of the first page; later errors truncate the response
 */
export async function listResponse<TItem>(
  context: Context,
  list: AsyncIterable<StreamedPage<TItem>>,
  { toWire, onFault }: { readonly toWire: (item: TItem) => unknown; readonly onFault: (error: unknown) => void },
): Promise<Response> {
  const pages = list[Symbol.asyncIterator]();
  const first = await pages.next();
  if (first.done === true) throw new AgentLightningError({ code: 'INTERNAL', message: 'The list has no first page' });
  const { isLast, ...page } = first.value;
  if (isLast) return jsonResponse(context, { ...page, items: page.items.map(toWire) });
  context.header('content-type', 'application/json');
  return context.body(streamOf(textOfPages(pages, { page, toWire }), onFault));
}

async function* textOfPages<TItem>(
  pages: AsyncIterator<StreamedPage<TItem>>,
  start: { readonly page: Omit<StreamedPage<TItem>, 'isLast'>; readonly toWire: (item: TItem) => unknown },
): AsyncGenerator<string, void, undefined> {
  const { page, toWire } = start;
  const { limit, offset, total } = page;
  const textOf = (items: readonly TItem[]): string => items.map((item) => JSON.stringify(toWire(item))).join(',');
  try {
    yield `{"limit":${limit},"offset":${offset},"total":${total},"items":[${textOf(page.items)}`;
    for (let next = await pages.next(); next.done !== true; next = await pages.next()) {
      if (next.value.items.length > 0) yield `,${textOf(next.value.items)}`;
    }
    yield ']}';
  } finally {
    await pages.return?.();
  }
}

function streamOf(
  texts: AsyncGenerator<string, void, undefined>,
  onFault: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const next = await texts.next();
          if (next.done === true) controller.close();
          else controller.enqueue(encoder.encode(next.value));
        } catch (error) {
          onFault(error);
          controller.error(error);
        }
      },
      cancel: async () => {
        await texts.return();
      },
    },
    { highWaterMark: 0 },
  );
}

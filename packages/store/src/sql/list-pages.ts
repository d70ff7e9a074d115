import type { Page } from '@agentlightning/core/store';
import type { ListCursor, ListPage, PageWindow } from './page.ts';

/** Rows of the first page, whose size is unknown before it is read. */
const firstPageRows = 100;
/** Maximum number of rows per page. */
export const maxPageRows = 1000;
/** Approximate characters per page: large rows make short pages. */
const pageCharacters = 4 * 2 ** 20;

/** A page of a list that is read page by page. */
export interface StreamedPage<TItem> extends Page<TItem> {
  /** Whether the list ends with it. */
  readonly isLast: boolean;
}

/**
 * Reads a list in pages of bounded size with a keyset cursor, each page in a separate transaction: a list of any
 * length blocks the event loop and holds a transaction for one page at most. Items that are added, deleted or
 * reordered meanwhile may or may not be included; no other item is missed or repeated.
 *
 * @param readOne - reads the page of a window; the first call validates the query
 */
export async function* readPages<TItem>(
  query: { readonly limit?: number },
  readOne: (window: PageWindow) => Promise<ListPage<TItem>>,
): AsyncGenerator<StreamedPage<TItem>, void, undefined> {
  const { limit = -1 } = query;
  let left = limit === -1 ? Number.POSITIVE_INFINITY : limit;
  let rows = firstPageRows;
  let after: ListCursor | null = null;
  do {
    const { page, characters, next }: ListPage<TItem> = await readOne({ rows: Math.min(rows, left), after });
    left -= page.items.length;
    after = left > 0 ? next : null;
    yield { ...page, isLast: after === null };
    rows = rowsOfNext(page.items.length, characters, rows);
  } while (after !== null);
}

/** Concatenates all pages. */
export async function collectPages<TItem>(pages: AsyncIterable<StreamedPage<TItem>>): Promise<Page<TItem>> {
  const items: TItem[] = [];
  let list: Omit<Page<TItem>, 'items'> = { limit: -1, offset: 0, total: 0 };
  for await (const { items: some, limit, offset, total } of pages) {
    list = { limit, offset, total };
    for (const item of some) items.push(item);
  }
  return { items, ...list };
}

function rowsOfNext(rows: number, characters: number, before: number): number {
  if (rows === 0 || characters === 0) return before;
  return Math.max(1, Math.min(maxPageRows, Math.floor((pageCharacters * rows) / characters)));
}

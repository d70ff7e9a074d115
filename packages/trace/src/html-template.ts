/** Text that is HTML already, and is not escaped again. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template: HTML is inserted unchanged, everything else is escaped as text; null is empty. */
export type HtmlPart = Html | string | number | null | readonly HtmlPart[];

/** A template for HTML in which everything that is filled in is escaped, so that no trace can put a script on the page. */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(strings.reduce((text, string, index) => text + htmlText(parts[index - 1] ?? null) + string));
}

function htmlText(part: HtmlPart): string {
  if (part === null) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(htmlText).join('');
  return String(part).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

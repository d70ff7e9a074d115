import { type ReactNode, useEffect, useRef } from 'react';

const keys = [
  ['?', 'Show this help'],
  ['/', 'Go to the search field of the page'],
  ['j', 'Next row'],
  ['k', 'Previous row'],
  ['Enter', 'Open the row'],
  ['g', 'Label the rollout good, or remove the label'],
  ['b', 'Label the rollout bad, or remove the label'],
  ['Esc', 'Close this help, leave a field'],
] as const;

/** The keyboard shortcuts of all pages, and their help. */
export function Keyboard(): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (isField(event.target)) {
        if (event.key === 'Escape') (event.target as HTMLElement).blur();
        return;
      }
      const action = actions[event.key];
      if (event.key === '?') dialog.current?.showModal();
      else if (action === undefined) return;
      else action();
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()} aria-label="Keyboard shortcuts">
        ?
      </button>
      <dialog ref={dialog} aria-labelledby="keyboard-title">
        <h2 id="keyboard-title">Keyboard shortcuts</h2>
        <dl className="key-list">
          {keys.map(([key, meaning]) => (
            <div key={key} style={{ display: 'contents' }}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  );
}

const actions: Readonly<Record<string, () => void>> = {
  '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
  g: () => pressButton('g'),
  b: () => pressButton('b'),
  j: () => moveRow(1),
  k: () => moveRow(-1),
};

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, select, textarea');
}

/** Presses the button of the page that has the key. */
function pressButton(key: string): void {
  document.querySelector<HTMLButtonElement>(`button[data-key="${key}"]`)?.click();
}

/** Moves the focus among the links that are marked as rows. */
function moveRow(offset: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const current = rows.indexOf(document.activeElement as HTMLElement);
  const next = current === -1 ? (offset > 0 ? 0 : rows.length - 1) : current + offset;
  rows[Math.min(Math.max(next, 0), rows.length - 1)]?.focus();
}

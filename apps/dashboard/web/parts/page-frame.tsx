import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type ColorTheme, setColorTheme, useColorTheme } from '../data/color-theme.ts';
import { type ConnectionState, useLiveChanges } from '../data/live-changes.ts';
import { storeQuery } from '../data/queries.ts';
import { Keyboard } from './keyboard.tsx';

const connectionTexts: Readonly<Record<ConnectionState, string>> = {
  connecting: 'Connecting …',
  live: 'Live',
  lost: 'Connection lost, reconnecting …',
};

/** The frame of all pages: navigation, connection state, theme, keyboard. */
export function PageFrame(): ReactNode {
  const { state, notice } = useLiveChanges();
  const { data: store } = useQuery(storeQuery());
  const isRunPage = useRouterState({ select: ({ location }) => /^\/(runs|compare)\b/.test(location.pathname) });
  return (
    <>
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <header className="top-bar">
        <Link to="/" className="brand">
          <img src="/icon.svg" width={22} height={22} alt="" />
          Agent Lightning
        </Link>
        <nav aria-label="Pages">
          <Link to="/" activeOptions={{ exact: true }} data-section={isRunPage ? 'current' : undefined}>
            Runs
          </Link>
          <Link to="/rollouts">Rollouts</Link>
          <Link to="/deployments">Deployments</Link>
          <Link to="/workers">Workers</Link>
        </nav>
        <div className="end">
          <span className="store-label foreign" title={store?.label}>
            {store?.label}
          </span>
          <span className="connection" role="status" data-state={state}>
            {connectionTexts[state]}
          </span>
          <ThemeSelect />
          <Keyboard />
        </div>
      </header>
      <div role="status">{notice !== null && <p className="closing-notice">{notice}</p>}</div>
      <main id="content" tabIndex={-1}>
        <Outlet />
      </main>
    </>
  );
}

function ThemeSelect(): ReactNode {
  const theme = useColorTheme();
  return (
    <select
      aria-label="Colour theme"
      value={theme}
      onChange={({ target }) => setColorTheme(target.value as ColorTheme)}
    >
      <option value="auto">Auto</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}

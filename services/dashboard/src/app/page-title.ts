/** The name of the browser's tab. */
import { useEffect } from "react";

export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Drover`;
  }, [title]);
}

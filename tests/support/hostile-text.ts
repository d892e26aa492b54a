/** Markup that no email may contain unescaped. */
export const hostile = `<b>&"'</b><img src="https://evil.example/i.png">`

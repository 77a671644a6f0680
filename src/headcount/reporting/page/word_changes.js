// Which words of a text are not those of another: the longest common run of words stays plain.

// [[word, changed]] of `after`.
export function wordChanges(before, after) {
  const [a, b] = [before, after].map((text) => text.split(/\s+/).filter(Boolean));
  // Lengths of the longest common subsequences of what follows each pair of words.
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const found = [];
  for (let i = 0, j = 0; j < b.length; ) {
    if (i < a.length && a[i] === b[j]) {
      found.push([b[j++], false]);
      i++;
    } else if (i < a.length && longest[i + 1][j] >= longest[i][j + 1]) i++;
    else found.push([b[j++], true]);
  }
  return found;
}

"""Seven tasks, three initialisations: the material of Kovaleva's Table 1 and Figures 5 to 9."""

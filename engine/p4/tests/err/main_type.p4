extern main { } // E0713:8
